//! Files of which exactly some pages are in memory.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use coldstart_sys::held_pages::HeldPages;
use coldstart_sys::mincore::mincore;
use rustix::fs::{Advice, fadvise};

use crate::cold::make_cold;

/// A file of `pages` pages, written to disk, with exactly the pages of `resident` in the page cache, as long as the
/// result is kept: kernels that reclaim unused pages at once exist, and spare those that somebody has mapped.
pub(crate) fn file_with(path: &Path, pages: u64, resident: &[(u64, u64)]) -> Vec<HeldPages> {
    std::fs::write(path, vec![0x5a; pages as usize * 4096]).unwrap();
    let file = File::open(path).unwrap();
    fadvise(&file, 0, None, Advice::Random).unwrap();
    let mut wanted = vec![false; pages as usize];
    resident.iter().for_each(|&(first, count)| wanted[first as usize..][..count as usize].fill(true));
    for _ in 0..20 {
        make_cold(path);
        let mut held = Vec::new();
        for &(first, count) in resident {
            (first..first + count)
                .for_each(|page| assert_eq!(file.read_at(&mut [0; 4096], page * 4096).unwrap(), 4096));
            held.push(HeldPages::hold(&file, first * 4096, count as usize * 4096).unwrap());
        }
        // Holding a page that was taken back between its reading and its holding reads others around it.
        if wanted.is_empty() || mincore(&file, 0, pages as usize * 4096).unwrap() == wanted {
            return held;
        }
    }
    panic!("other pages of {} are in memory than asked for", path.display());
}
