//! Reading the archives that [`super::zip`] writes: uncompressed files, each with its checksum.

use std::io::{Read, Seek, SeekFrom};

use super::npz::ArchiveError;
use super::zip::{CENTRAL_HEADER, END, LOCAL_HEADER, STORED};

/// Reads files of an archive by their names.
pub struct ZipReader<R: Read + Seek> {
    reader: R,
    length: u64,
    entries: Vec<Entry>,
}

struct Entry {
    name: String,
    method: u16,
    crc: u32,
    size: u32,
    /// Where the entry's local header begins.
    offset: u32,
}

const END_LENGTH: u64 = 22;
const CENTRAL_LENGTH: usize = 46;
const LOCAL_LENGTH: usize = 30;
/// The longest comment that may follow the list of files.
const LONGEST_COMMENT: u64 = u16::MAX as u64;
/// Bytes of the list of files: ten thousand of them.
const LONGEST_LIST: u64 = 1 << 20;

impl<R: Read + Seek> ZipReader<R> {
    pub fn new(mut reader: R) -> Result<Self, ArchiveError> {
        let length = reader.seek(SeekFrom::End(0))?;
        let mut start = [0; 4];
        reader.seek(SeekFrom::Start(0))?;
        if length < 4 || reader.read_exact(&mut start).is_err() || u32::from_le_bytes(start) != LOCAL_HEADER {
            return Err(ArchiveError::Foreign);
        }
        let mut zip = ZipReader { reader, length, entries: Vec::new() };
        let tail_start = length.saturating_sub(END_LENGTH + LONGEST_COMMENT);
        let tail = zip.bytes(tail_start, (length - tail_start) as usize)?;
        let end = tail.windows(END_LENGTH as usize).rposition(|window| u32_at(window, 0) == END);
        let end = &tail[end.ok_or(ArchiveError::Cut)?..];
        let list_length = u64::from(u32_at(end, 12));
        if list_length > LONGEST_LIST {
            let name = "list of arrays".to_owned();
            return Err(ArchiveError::TooLong { name, most: LONGEST_LIST, found: list_length });
        }
        let directory = zip.bytes(u64::from(u32_at(end, 16)), list_length as usize)?;
        zip.entries = entries(&directory, usize::from(u16_at(end, 10)))?;
        Ok(zip)
    }

    /// The contents of a file of at most `most` bytes, after their checksum was found to be right.
    pub fn file(&mut self, name: &str, most: u64) -> Result<Vec<u8>, ArchiveError> {
        let (start, size, crc) = self.place(name)?;
        if size > most {
            return Err(ArchiveError::TooLong { name: name.to_owned(), most, found: size });
        }
        let contents = self.bytes(start, size as usize)?;
        if crc32fast::hash(&contents) != crc {
            return Err(ArchiveError::Damaged(name.to_owned()));
        }
        Ok(contents)
    }

    /// The first bytes of a file, at most so many, unchecked.
    pub fn beginning(&mut self, name: &str, most: u64) -> Result<Vec<u8>, ArchiveError> {
        let (start, size, _) = self.place(name)?;
        self.bytes(start, size.min(most) as usize)
    }

    /// Where a file's contents begin, how many bytes they are, and their checksum.
    fn place(&mut self, name: &str) -> Result<(u64, u64, u32), ArchiveError> {
        let entry = self.entries.iter().find(|entry| entry.name == name);
        let Some(&Entry { method, crc, size, offset, .. }) = entry else {
            return Err(ArchiveError::Missing(name.to_owned()));
        };
        if method != STORED {
            return Err(ArchiveError::Compressed);
        }
        let local = self.bytes(u64::from(offset), LOCAL_LENGTH)?;
        if u32_at(&local, 0) != LOCAL_HEADER {
            return Err(ArchiveError::Damaged(name.to_owned()));
        }
        let names = u64::from(u16_at(&local, 26)) + u64::from(u16_at(&local, 28));
        Ok((u64::from(offset) + LOCAL_LENGTH as u64 + names, u64::from(size), crc))
    }

    fn bytes(&mut self, from: u64, count: usize) -> Result<Vec<u8>, ArchiveError> {
        // Before memory is taken for what is not there.
        if from + count as u64 > self.length {
            return Err(ArchiveError::Cut);
        }
        self.reader.seek(SeekFrom::Start(from))?;
        let mut bytes = vec![0; count];
        self.reader.read_exact(&mut bytes)?;
        Ok(bytes)
    }
}

fn entries(mut directory: &[u8], count: usize) -> Result<Vec<Entry>, ArchiveError> {
    let mut entries = Vec::with_capacity(count);
    for _ in 0..count {
        if directory.len() < CENTRAL_LENGTH || u32_at(directory, 0) != CENTRAL_HEADER {
            return Err(ArchiveError::Cut);
        }
        let [name, extra, comment] = [28, 30, 32].map(|at| usize::from(u16_at(directory, at)));
        let name_bytes = directory.get(CENTRAL_LENGTH..CENTRAL_LENGTH + name).ok_or(ArchiveError::Cut)?;
        entries.push(Entry {
            name: String::from_utf8_lossy(name_bytes).into_owned(),
            method: u16_at(directory, 10),
            crc: u32_at(directory, 16),
            size: u32_at(directory, 24),
            offset: u32_at(directory, 42),
        });
        directory = directory.get(CENTRAL_LENGTH + name + extra + comment..).ok_or(ArchiveError::Cut)?;
    }
    Ok(entries)
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}
