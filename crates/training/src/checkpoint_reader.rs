//! Reads and checks the tensors of a checkpoint in one pass over their file.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use tch::{Device, Tensor};
use valleyscope_runs::checkpoint::{Checkpoint, TensorEntry, tensors_of_header};
use valleyscope_runs::plain_file::{self, Links};

use super::error::{CheckpointError, TrainError, damaged};
use super::named_tensors::{NamedTensors, OwnedTensors, bytes_of, dtype};

/// The expected contents of a file of tensors.
pub(super) struct ExpectedTensors<'a> {
    /// Names, types and shapes of the expected tensors.
    pub tensors: &'a NamedTensors<'a>,
    /// The largest length of the file without its header, in bytes.
    pub most: u64,
    /// Returns whether a tensor of another name is skipped.
    pub passes_over: &'a dyn Fn(&str) -> bool,
}

impl ExpectedTensors<'_> {
    /// Reads the tensors' file of a checkpoint, whose description is `text`.
    ///
    /// The training's own tensors stay unchanged: damage may show only at the end of the file.
    pub(super) fn read(
        &self,
        path: &Path,
        checkpoint: &Checkpoint,
        text: &str,
    ) -> Result<OwnedTensors, CheckpointError> {
        let failed = |source| CheckpointError::File { path: path.to_owned(), source };
        let file = plain_file::open(path, Links::Refused).map_err(failed)?;
        let length = file.metadata().map_err(failed)?.len();
        let most = self.most + Checkpoint::LONGEST_HEADER;
        if length > most {
            let message = format!("expected at most {most} bytes, found more");
            return Err(failed(io::Error::new(io::ErrorKind::FileTooLarge, message)));
        }
        let wrong_length = |found: u64| damaged(path, format!("expected {} bytes, found {found}", checkpoint.bytes));
        if length != checkpoint.bytes {
            return Err(wrong_length(length));
        }
        let mut file = Summed { file, sum: crc32fast::Hasher::new(), read: 0 };
        let tensors = self.take(&mut file, length, path);
        // Changed bytes are the error to report, whatever else they have caused.
        file.skip(u64::MAX).map_err(failed)?;
        if file.read != length {
            return Err(wrong_length(file.read));
        }
        file.sum.update(checkpoint.covered(text).as_bytes());
        if file.sum.finalize() != checkpoint.crc32 {
            let about = path.with_extension("ron");
            let reason = format!("the checksum is wrong: bytes have changed, here or in {}", about.display());
            return Err(damaged(path, reason));
        }
        tensors
    }

    fn take(&self, file: &mut Summed, length: u64, path: &Path) -> Result<OwnedTensors, CheckpointError> {
        let failed = |source| CheckpointError::File { path: path.to_owned(), source };
        let header = file.header().map_err(failed)?;
        let places = tensors_of_header(&header, length).map_err(|reason| damaged(path, reason))?;
        self.check(&places).map_err(|reason| damaged(path, reason))?;
        let mut tensors = Vec::new();
        for (name, TensorEntry { data_offsets: [start, end], .. }) in places {
            let Some((_, like)) = self.tensors.iter().find(|(wanted, _)| *wanted == name) else {
                file.skip(end - start).map_err(failed)?;
                continue;
            };
            let mut tensor = Tensor::f_empty(like.size(), (like.kind(), Device::Cpu)).map_err(TrainError::from)?;
            file.read_exact(bytes_mut(&mut tensor)).map_err(failed)?;
            tensors.push((name, tensor));
        }
        Ok(tensors)
    }

    /// Checks that these are the expected tensors, and no others than allowed.
    fn check(&self, places: &[(String, TensorEntry)]) -> Result<(), String> {
        for (name, tensor) in self.tensors {
            let place = places.iter().find(|(found, _)| found == name).map(|(_, place)| place);
            let dtype = format!("{:?}", dtype(tensor));
            let shape: Vec<u64> = tensor.size().into_iter().map(|size| size as u64).collect();
            let fits = |place: &TensorEntry| place.dtype == dtype && place.shape == shape;
            if !place.is_some_and(fits) {
                let found =
                    place.map_or_else(|| "nothing".to_owned(), |place| format!("{} {:?}", place.dtype, place.shape));
                return Err(format!("expected `{name}` of {dtype} {shape:?}, found {found}"));
            }
        }
        let is_wanted = |name: &str| self.tensors.iter().any(|(other, _)| other == name);
        let others = places.iter().filter(|(name, _)| !is_wanted(name) && !(self.passes_over)(name)).count();
        if others > 0 {
            let expected = self.tensors.len();
            return Err(format!("expected {expected} tensors, found {}", expected + others));
        }
        Ok(())
    }
}

/// A file, with the checksum and the number of the bytes read so far.
struct Summed {
    file: File,
    sum: crc32fast::Hasher,
    read: u64,
}

impl Summed {
    /// The number of bytes read at a time, few enough to stay in the cache until they are summed.
    const PIECE: usize = 1 << 18;

    /// Reads the length of the header and, if it is plausible, the header.
    fn header(&mut self) -> io::Result<Vec<u8>> {
        let mut header = Vec::new();
        self.take(8).read_to_end(&mut header)?;
        if let Ok(size) = <[u8; 8]>::try_from(&header[..]) {
            let size = u64::from_le_bytes(size).min(Checkpoint::LONGEST_HEADER);
            self.take(size).read_to_end(&mut header)?;
        }
        Ok(header)
    }

    /// Reads `bytes` bytes, or to the end, for the sum only.
    fn skip(&mut self, bytes: u64) -> io::Result<()> {
        let mut piece = vec![0; Self::PIECE];
        let mut rest = self.take(bytes);
        while rest.read(&mut piece)? > 0 {}
        Ok(())
    }
}

impl Read for Summed {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let most = buffer.len().min(Self::PIECE);
        let read = self.file.read(&mut buffer[..most])?;
        self.sum.update(&buffer[..read]);
        self.read += read as u64;
        Ok(read)
    }
}

/// Returns the bytes of a tensor's numbers.
fn bytes_mut(tensor: &mut Tensor) -> &mut [u8] {
    // SAFETY: it is contiguous and in the processor's memory, nothing else refers to it, and it lives as long as the
    // slice.
    unsafe { std::slice::from_raw_parts_mut(tensor.data_ptr().cast(), bytes_of(tensor)) }
}
