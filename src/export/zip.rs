//! Archives of uncompressed files in the ZIP format, which is all that NPZ needs.
//!
//! Every file is dated 1 January 1980, the format's first day, so that equal contents are equal bytes.

use std::io::{self, Seek, SeekFrom, Write};

use crc32fast::Hasher;

/// Writes files into an archive one after another.
pub struct ZipWriter<W: Write + Seek> {
    writer: W,
    entries: Vec<Entry>,
}

struct Entry {
    name: String,
    crc: u32,
    size: u32,
    /// Where the entry begins in the archive.
    offset: u32,
}

pub(super) const LOCAL_HEADER: u32 = 0x0403_4b50;
pub(super) const CENTRAL_HEADER: u32 = 0x0201_4b50;
pub(super) const END: u32 = 0x0605_4b50;
/// The version of the format that a reader must know, 2.0.
const VERSION: u16 = 20;
/// The name is in UTF-8.
const FLAGS: u16 = 1 << 11;
pub(super) const STORED: u16 = 0;
const TIME: u16 = 0;
/// 1 January 1980.
const DATE: u16 = 1 << 5 | 1;
/// Where the checksum is in a local header.
const CRC_AT: u64 = 14;

impl<W: Write + Seek> ZipWriter<W> {
    pub fn new(writer: W) -> Self {
        ZipWriter { writer, entries: Vec::new() }
    }

    /// Adds a file with what `write` writes.
    ///
    /// An archive that grows beyond 4 GiB is an error of the kind [`io::ErrorKind::FileTooLarge`].
    pub fn file(&mut self, name: &str, write: impl FnOnce(&mut Contents<'_, W>) -> io::Result<()>) -> io::Result<()> {
        let offset = self.writer.stream_position()?;
        let mut entry = Entry { name: name.to_owned(), crc: 0, size: 0, offset: fits(offset)? };
        self.writer.write_all(&entry.local_header())?;
        let mut contents = Contents { writer: &mut self.writer, hasher: Hasher::new(), size: 0 };
        write(&mut contents)?;
        entry.size = fits(contents.size)?;
        entry.crc = contents.hasher.finalize();
        self.writer.seek(SeekFrom::Start(offset + CRC_AT))?;
        for value in [entry.crc, entry.size, entry.size] {
            self.writer.write_all(&value.to_le_bytes())?;
        }
        self.writer.seek(SeekFrom::End(0))?;
        self.entries.push(entry);
        Ok(())
    }

    /// Writes the list of files that ends the archive.
    pub fn finish(mut self) -> io::Result<W> {
        let start = self.writer.stream_position()?;
        let directory: Vec<u8> = self.entries.iter().flat_map(Entry::central_header).collect();
        self.writer.write_all(&directory)?;
        let count = u16::try_from(self.entries.len()).map_err(|_| too_large())?;
        let mut end = Vec::new();
        end.extend(END.to_le_bytes());
        // Number of this disk, and of the disk where the list begins.
        end.extend([0; 4]);
        end.extend(count.to_le_bytes());
        end.extend(count.to_le_bytes());
        end.extend(fits(directory.len() as u64)?.to_le_bytes());
        end.extend(fits(start)?.to_le_bytes());
        // Length of a comment.
        end.extend([0; 2]);
        self.writer.write_all(&end)?;
        Ok(self.writer)
    }
}

impl Entry {
    fn local_header(&self) -> Vec<u8> {
        [&LOCAL_HEADER.to_le_bytes(), self.shared_header().as_slice(), self.name.as_bytes()].concat()
    }

    fn central_header(&self) -> Vec<u8> {
        let mut header = CENTRAL_HEADER.to_le_bytes().to_vec();
        header.extend(VERSION.to_le_bytes());
        header.extend(self.shared_header());
        // Comment length, disk, internal and external attributes.
        header.extend([0; 10]);
        header.extend(self.offset.to_le_bytes());
        header.extend(self.name.as_bytes());
        header
    }

    /// What both headers of a file have in common.
    fn shared_header(&self) -> Vec<u8> {
        let mut header = Vec::new();
        for value in [VERSION, FLAGS, STORED, TIME, DATE] {
            header.extend(value.to_le_bytes());
        }
        for value in [self.crc, self.size, self.size] {
            header.extend(value.to_le_bytes());
        }
        let name_length = u16::try_from(self.name.len()).expect("an array's name is short");
        header.extend(name_length.to_le_bytes());
        // Length of extra fields.
        header.extend([0; 2]);
        header
    }
}

fn fits(size: u64) -> io::Result<u32> {
    u32::try_from(size).map_err(|_| too_large())
}

fn too_large() -> io::Error {
    io::Error::new(io::ErrorKind::FileTooLarge, "an archive can hold at most 4 GiB")
}

/// Where a file's contents are written to.
pub struct Contents<'w, W: Write> {
    writer: &'w mut W,
    hasher: Hasher,
    size: u64,
}

impl<W: Write> Write for Contents<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.writer.write(bytes)?;
        self.hasher.update(&bytes[..written]);
        self.size += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }
}
