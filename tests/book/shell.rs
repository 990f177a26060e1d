//! Checks the commands in the documents by the program's own definition of its command line.

use crate::documents::documents;

#[test]
fn commands_in_documents_are_valid() {
    let mut checked = 0;
    let mut faults = Vec::new();
    for document in documents() {
        for (number, line) in document.shell_lines() {
            for arguments in calls(&line) {
                checked += 1;
                if let Err(fault) = understood(&arguments) {
                    faults.push(format!("{}:{number}: {line}\n{fault}", document.name()));
                }
            }
        }
    }
    assert!(faults.is_empty(), "commands that valleyscope refuses:\n\n{}", faults.join("\n\n"));
    assert!(checked > 10, "only {checked} commands are found");
}

fn understood(arguments: &[String]) -> Result<(), String> {
    let line = std::iter::once("valleyscope").chain(arguments.iter().map(String::as_str));
    match valleyscope::cli::command().try_get_matches_from(line) {
        // Help and version are no mistakes, but no matches either.
        Err(refusal) if refusal.use_stderr() => Err(refusal.to_string()),
        _ => Ok(()),
    }
}

/// Programs whose arguments may be files or folders named `valleyscope`.
const NO_CALLERS: [&str; 6] = ["cd", "cp", "ln", "rsync", "scp", "which"];

/// Returns the arguments of each call of valleyscope in a line of shell: alone, behind another program such as srun, by
/// cargo, or in quotation marks for another shell.
fn calls(line: &str) -> Vec<Vec<String>> {
    if !["valleyscope", "cargo"].iter().any(|program| line.contains(program)) {
        return Vec::new();
    }
    let words = shlex::split(&without_variables(line)).unwrap_or_else(|| panic!("not a line of shell: {line}"));
    let apart = |word: &String| match word.strip_suffix(';') {
        Some(word) => vec![word.to_owned(), ";".to_owned()],
        None => vec![word.clone()],
    };
    let words: Vec<String> = words.iter().flat_map(apart).collect();
    let mut calls = Vec::new();
    for command in words.split(|word| word.starts_with(['|', '&', ';'])) {
        let by_cargo = ["cargo", "run"].iter().all(|name| command.iter().any(|word| word == name));
        let starts_it = |word: &String| match by_cargo {
            true => word == "--",
            false => word == "valleyscope" || word.ends_with("/valleyscope"),
        };
        let is_call = command.first().is_some_and(|first| !NO_CALLERS.contains(&first.as_str()));
        let is_redirection = |word: &&String| word.trim_start_matches(['1', '2']).starts_with(['<', '>']);
        if let Some(program) = command.iter().position(starts_it).filter(|_| is_call) {
            let arguments = command[program + 1..].iter().take_while(|word| !is_redirection(word));
            calls.push(arguments.map(|word| word.trim_end_matches(')').to_owned()).collect());
        }
        let nested = command.iter().filter(|word| word.contains("valleyscope "));
        nested.for_each(|line| calls.extend(self::calls(line.trim_end_matches(')'))));
    }
    calls
}

/// Replaces the variables of the shell and of parallel in a line by 1, which is a valid number, name and path. A
/// command in `$(…)` that calls valleyscope stays.
fn without_variables(line: &str) -> String {
    let Some((before, after)) = line.split_once('$') else { return line.replace("{}", "1") };
    let behind = |end: &str| after.find(end).map_or(after.len(), |start| start + end.len());
    let is_name = |c: char| c.is_ascii_alphanumeric() || "_@*#".contains(c);
    let length = match after.chars().next() {
        _ if after.starts_with("((") => behind("))"),
        Some('(') if after[..behind(")")].contains("valleyscope") => {
            return format!("{before} {}", without_variables(&after[1..]));
        }
        Some('(') => behind(")"),
        Some('{') => behind("}"),
        _ => after.find(|c| !is_name(c)).unwrap_or(after.len()),
    };
    format!("{}1{}", before.replace("{}", "1"), without_variables(&after[length..]))
}

#[test]
fn calls_are_found_in_any_position() {
    let calls = |line: &str| -> Vec<String> { calls(line).into_iter().map(|words| words.join(" ")).collect() };
    assert_eq!(calls("A=1 valleyscope train 'a b' > log 2>&1 # valleyscope"), ["train a b"]);
    assert_eq!(calls("mkdir -p x && ./valleyscope presets show mnist >x/config.ron | wc"), ["presets show mnist"]);
    assert_eq!(calls("seq 9 | parallel -j 1 valleyscope sweep fig2a --part {}/9"), ["sweep fig2a --part 1/9"]);
    assert_eq!(calls("for i in {1..8}; do valleyscope train mnist --set seed=$i; done"), ["train mnist --set seed=1"]);
    assert_eq!(calls("srun valleyscope sweep --part $((ID + 1))/8 --out \"${A}/b\""), ["sweep --part 1/8 --out 1/b"]);
    assert_eq!(calls("job=$(sbatch --wrap 'valleyscope train x --part $N/8')"), ["train x --part 1/8"]);
    assert_eq!(calls("a=$(valleyscope runs show last) b=$(date +%F)"), ["runs show last b=1"]);
    assert_eq!(calls("ssh box 'cd valleyscope && target/release/valleyscope runs list &'"), ["runs list"]);
    assert_eq!(calls("cargo xtask run -- doctor"), ["doctor"]);
    assert_eq!(calls("valleyscope-train run x; cargo build"), Vec::<String>::new());
}

#[test]
fn a_wrong_option_is_noticed() {
    let words = |line: &str| line.split(' ').map(str::to_owned).collect::<Vec<_>>();
    assert!(understood(&words("sweep fig2a --grid 2x2 --out x")).is_ok());
    assert!(understood(&words("sweep --help")).is_ok());
    assert!(understood(&words("sweep fig2a --gird 2x2 --out x")).unwrap_err().contains("--gird"));
    assert!(understood(&words("sweep fig2a --grid many --out x")).is_err());
}
