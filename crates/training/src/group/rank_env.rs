//! The rank of a process and the meeting point of its training, read from the environment that torchrun, SLURM or the
//! program itself sets.

use std::net::{TcpListener, ToSocketAddrs};

use anyhow::{anyhow, bail};

use super::c10d::Bind;

/// The rank of a process, and its connection to the others.
#[derive(Debug)]
pub struct RankEnv {
    /// The rank, from 0; rank 0 leads.
    pub rank: usize,
    pub size: usize,
    /// The number among the processes of this machine, from 0.
    pub local_rank: usize,
    /// The host of the store, which one process serves.
    pub host: String,
    pub port: u16,
    /// The network of the connections between processes.
    pub bind: Bind,
    pub prefix: String,
    /// The store's socket, if this process serves it.
    pub listener: Option<TcpListener>,
}

fn wrong(variable: &str, expected: &str, found: &str) -> anyhow::Error {
    anyhow!("expected {expected} as {variable} in the environment, found {found}")
}

fn missing(variable: &str, found: &str, needed: &str) -> anyhow::Error {
    anyhow!(
        "{variable} is {found}, and {needed} is not set; all processes of a training need RANK, WORLD_SIZE, MASTER_ADDR and \
         MASTER_PORT, which torchrun sets"
    )
}

/// The address at which processes of one machine meet.
pub(super) const LOOPBACK: &str = "127.0.0.1";

impl RankEnv {
    pub(super) const PREFIX: &str = "valleyscope";

    /// Reads the rank from the environment; `None` for a single process. `interface` is the network interface that a
    /// user has named.
    ///
    /// # Errors
    ///
    /// Fails if variables are missing or wrong, and if the processes are on several machines and no network is named.
    pub fn read(interface: Option<&str>, variable: impl Fn(&str) -> Option<String>) -> anyhow::Result<Option<RankEnv>> {
        let variable = |name: &str| variable(name).filter(|value| !value.is_empty());
        // torchrun's variables, which users set, too, or those of SLURM's `srun`.
        let (names, found) = match (variable("WORLD_SIZE"), variable("SLURM_STEP_NUM_TASKS")) {
            (Some(size), _) => (["WORLD_SIZE", "RANK", "LOCAL_RANK"], size),
            (None, Some(size)) => (["SLURM_STEP_NUM_TASKS", "SLURM_PROCID", "SLURM_LOCALID"], size),
            (None, None) => return Ok(None),
        };
        let ([of_size, of_rank, of_local_rank], is_slurm) = (names, variable("WORLD_SIZE").is_none());
        let needed = |needed: &str| variable(needed).ok_or_else(|| missing(of_size, &found, needed));
        let size: usize = number(of_size, &found)?;
        if size == 1 {
            return Ok(None);
        }
        let rank: usize = number(of_rank, &needed(of_rank)?)?;
        if rank >= size {
            let expected = format!("a number below {of_size}, which is {size},");
            return Err(wrong(of_rank, &expected, &rank.to_string()));
        }
        let local_rank = variable(of_local_rank).map_or(Ok(0), |rank| number(of_local_rank, &rank))?;
        // srun's rank 0 is on the first machine of the step.
        let host = match variable("MASTER_ADDR") {
            None if is_slurm => first_host(&needed("SLURM_STEP_NODELIST")?),
            host => host.map_or_else(|| needed("MASTER_ADDR"), Ok)?,
        };
        let step = variable("SLURM_STEP_ID").filter(|_| is_slurm);
        let step = step.map_or(Ok(0), |step| number("SLURM_STEP_ID", &step))?;
        let port = match variable("MASTER_PORT") {
            None if is_slurm => port_of_step(number("SLURM_JOB_ID", &needed("SLURM_JOB_ID")?)?, step),
            found => port(&found.map_or_else(|| needed("MASTER_PORT"), Ok)?)?,
        };
        // Separates the keys from those of other trainings.
        let training = if is_slurm { format!("{}/{step}", Self::PREFIX) } else { Self::PREFIX.to_owned() };
        let interface = interface.map(str::to_owned).or_else(|| variable("GLOO_SOCKET_IFNAME"));
        let bind = match interface {
            Some(name) => Bind::Interface(name),
            None if is_loopback(&host) => Bind::Address(LOOPBACK.to_owned()),
            None => bail!(
                "the processes meet at {host}, which is not a loopback address, and no network is named for their \
                 connections; name the interface of this machine that reaches the others: --interface NAME, or \
                 GLOO_SOCKET_IFNAME (anybody who reaches it can disturb the training: let it be a private one)"
            ),
        };
        // torchrun's own process serves a store, and each of its attempts has a part of it.
        let has_store = variable("TORCHELASTIC_USE_AGENT_STORE").is_some_and(|value| value == "True");
        let attempt = variable("TORCHELASTIC_RESTART_COUNT").unwrap_or_default();
        let prefix = if has_store { format!("{training}/{attempt}") } else { training };
        if let (false, Bind::Interface(interface)) = (has_store, &bind)
            && is_loopback(&host)
            && !is_named_loopback(&host)
        {
            bail!(
                "{host}, where the processes are to meet, is a loopback address on this machine (see /etc/hosts), which \
                 other machines do not reach; set MASTER_ADDR to the address of rank 0's machine on {interface}"
            );
        }
        let listener = (rank == 0 && !has_store).then(|| {
            TcpListener::bind((host.as_str(), port)).map_err(|error| {
                anyhow!(
                    "cannot listen at {host}:{port}, where the processes are to meet: {error}; MASTER_ADDR must be an \
                     address of the machine of rank 0, and MASTER_PORT be free there"
                )
            })
        });
        Ok(Some(RankEnv { rank, size, local_rank, listener: listener.transpose()?, host, port, bind, prefix }))
    }
}

/// Whether an address is, by its form, one of this machine alone.
fn is_named_loopback(host: &str) -> bool {
    host == "localhost" || host.parse().is_ok_and(|address: std::net::IpAddr| address.is_loopback())
}

fn is_loopback(host: &str) -> bool {
    let found = (host, 0).to_socket_addrs();
    found.is_ok_and(|mut addresses| addresses.len() > 0 && addresses.all(|address| address.ip().is_loopback()))
}

fn number<N: std::str::FromStr>(variable: &str, found: &str) -> anyhow::Result<N> {
    found.trim().parse().map_err(|_| wrong(variable, "a number", found))
}

/// Parses the port of the store. All processes need it, so the system cannot choose it.
fn port(found: &str) -> anyhow::Result<u16> {
    let expected = "a port from 1 to 65535, the same for all processes and free on the machine of rank 0,";
    let found = found.trim();
    found.parse().ok().filter(|port| *port > 0).ok_or_else(|| wrong("MASTER_PORT", expected, found))
}

/// Parses the first host of SLURM's list, such as `node003` of `node[003-005,9],other`.
fn first_host(list: &str) -> String {
    let Some((stem, rest)) = list.split_once('[').filter(|(stem, _)| !stem.contains(',')) else {
        return list.split(',').next().unwrap_or_default().to_owned();
    };
    let (ranges, after) = rest.split_once(']').unwrap_or((rest, ""));
    let first = ranges.split([',', '-']).next().unwrap_or_default();
    format!("{stem}{first}{}", after.split(',').next().unwrap_or_default())
}

/// Chooses a port from 20,000 to 29,999 that differs between jobs on a machine, and between steps of a job.
fn port_of_step(job: u64, step: u64) -> u16 {
    20_000 + (job.wrapping_mul(37).wrapping_add(step) % 10_000) as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rank_env(interface: Option<&str>, variables: &[(&str, &str)]) -> Result<Option<RankEnv>, String> {
        let of = |name: &str| variables.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned());
        RankEnv::read(interface, of).map_err(|error| error.to_string())
    }

    #[test]
    fn reads_the_variables_of_torchrun() {
        let variables = [
            ("RANK", "3"),
            ("WORLD_SIZE", "4"),
            ("LOCAL_RANK", "1"),
            ("MASTER_ADDR", "localhost"),
            ("MASTER_PORT", "29500"),
            ("TORCHELASTIC_USE_AGENT_STORE", "True"),
            ("TORCHELASTIC_RESTART_COUNT", "2"),
        ];
        let found = rank_env(None, &variables).unwrap().unwrap();
        assert_eq!((found.rank, found.size, found.local_rank, found.port), (3, 4, 1, 29500));
        assert_eq!((found.prefix.as_str(), found.bind), ("valleyscope/2", Bind::Address(LOOPBACK.to_owned())));
        assert!(rank_env(None, &variables[..3]).unwrap_err().contains("MASTER_ADDR is not set"));
        assert!(rank_env(None, &[("WORLD_SIZE", "1")]).unwrap().is_none());
        assert!(rank_env(None, &[]).unwrap().is_none());
        let wrong = rank_env(None, &[&[("RANK", "4")], &variables[1..]].concat()).unwrap_err();
        assert!(wrong.contains("below WORLD_SIZE, which is 4, as RANK in the environment, found 4"), "{wrong}");
        let wrong = rank_env(None, &[&[("RANK", "x")], &variables[1..]].concat()).unwrap_err();
        assert!(wrong.contains("expected a number as RANK in the environment, found x"), "{wrong}");
        for port in ["0", "65536", "x"] {
            let wrong = rank_env(None, &[&[("MASTER_PORT", port)], &variables[..]].concat()).unwrap_err();
            assert!(wrong.contains("expected a port from 1 to 65535"), "{wrong}");
            assert!(wrong.ends_with(&format!("as MASTER_PORT in the environment, found {port}")), "{wrong}");
        }
    }

    #[test]
    fn several_machines_need_a_named_network() {
        let variables = [("RANK", "1"), ("WORLD_SIZE", "2"), ("MASTER_ADDR", "192.0.2.1"), ("MASTER_PORT", "29500")];
        assert!(rank_env(None, &variables).unwrap_err().contains("--interface NAME, or GLOO_SOCKET_IFNAME"));
        let found = rank_env(Some("eth1"), &variables).unwrap().unwrap();
        assert_eq!(found.bind, Bind::Interface("eth1".to_owned()));
    }

    #[test]
    fn reads_the_variables_of_slurm() {
        let variables = [
            ("SLURM_STEP_NUM_TASKS", "8"),
            ("SLURM_PROCID", "5"),
            ("SLURM_LOCALID", "1"),
            ("SLURM_STEP_NODELIST", "gpu[07-08,11]"),
            ("SLURM_JOB_ID", "1234567"),
            ("GLOO_SOCKET_IFNAME", "ib0"),
        ];
        let found = rank_env(None, &variables).unwrap().unwrap();
        assert_eq!((found.rank, found.size, found.local_rank), (5, 8, 1));
        assert_eq!((found.host.as_str(), found.port, found.prefix.as_str()), ("gpu07", 28_979, "valleyscope/0"));
        let second = [&variables[..], &[("SLURM_STEP_ID", "1")]].concat();
        let second = rank_env(None, &second).unwrap().unwrap();
        assert_eq!((second.port, second.prefix.as_str()), (28_980, "valleyscope/1"));
        assert_eq!(found.bind, Bind::Interface("ib0".to_owned()));
        for (list, first) in [("a", "a"), ("a,b[1-2]", "a"), ("n[3,5-9]-ib,m", "n3-ib"), ("x[12]", "x12")] {
            assert_eq!(first_host(list), first, "{list}");
        }
    }
}
