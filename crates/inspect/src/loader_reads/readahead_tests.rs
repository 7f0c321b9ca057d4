use super::*;
use proptest::prelude::*;

fn after(pages: u64, window: u64, touches: &[u64]) -> Counts {
    let mut disk = Disk::new(pages, window);
    touches.iter().for_each(|page| disk.touch(*page));
    disk.counts()
}

#[test]
fn a_touch_reads_the_window_around_it() {
    let expected = Counts { requests: 1, seeks: 1, read_pages: 32, touched_pages: 1 };
    assert_eq!(after(1000, 32, &[100]), expected);
    // At the file's ends, the window is cut off.
    assert_eq!(after(1000, 32, &[4]).read_pages, 32);
    assert_eq!(after(1000, 32, &[995]).read_pages, 21);
    assert_eq!(after(10, 32, &[5]).read_pages, 10);
    // 84 to 116 are there now, and touching them, or the same again, costs nothing before the mark at 108.
    assert_eq!(after(1000, 32, &[100, 84, 107, 100]), Counts { touched_pages: 3, ..expected });
}

#[test]
fn a_touch_of_the_mark_reads_the_next_window_without_a_seek() {
    let expected = Counts { requests: 2, seeks: 1, read_pages: 64, touched_pages: 2 };
    assert_eq!(after(1000, 32, &[100, 108]), expected);
    // The new window's first page is the next mark.
    assert_eq!(after(1000, 32, &[100, 108, 116]), Counts { requests: 3, seeks: 1, read_pages: 96, touched_pages: 3 });
    // Straight through a file, there is one seek.
    let all: Vec<u64> = (0..1000).collect();
    let through = after(1000, 32, &all);
    assert_eq!((through.seeks, through.read_pages, through.touched_pages), (1, 1000, 1000));
}

#[test]
fn what_is_cached_is_not_read_again() {
    // 84..116, then 120 reads around itself: 104..136, of which 116..136 are missing, right after the last request.
    assert_eq!(after(1000, 32, &[100, 120]), Counts { requests: 2, seeks: 1, read_pages: 52, touched_pages: 2 });
    // Going back: 64..84 are missing, and that is a seek.
    assert_eq!(after(1000, 32, &[100, 80]), Counts { requests: 2, seeks: 2, read_pages: 52, touched_pages: 2 });
}

#[test]
fn the_start_is_read_like_a_sequential_reader_does() {
    let mut disk = Disk::new(1000, 32);
    disk.read_start();
    assert_eq!(disk.counts(), Counts { requests: 1, seeks: 1, read_pages: 4, touched_pages: 1 });
    // The mark is at 1, and the window doubles.
    disk.touch(1);
    assert_eq!(disk.counts(), Counts { requests: 2, seeks: 1, read_pages: 12, touched_pages: 2 });
    assert_eq!(disk.touched_in_step(), Some(0..=1));
    disk.begin_step();
    assert_eq!(disk.touched_in_step(), None);
}

#[test]
fn too_many_misses_switch_readahead_off() {
    let far_apart: Vec<u64> = (0..200).map(|index| index * 100).collect();
    let counts = after(100_000, 32, &far_apart);
    // The first window begins at 0 and has 32 pages, too.
    assert_eq!(counts.read_pages, 100 * 32 + 100);
    assert_eq!(counts.requests, 200);
}

#[test]
fn without_readahead_single_pages_are_read() {
    assert_eq!(after(1000, 0, &[5, 6]), Counts { requests: 2, seeks: 1, read_pages: 2, touched_pages: 2 });
    assert_eq!(after(0, 32, &[5]), Counts::default());
}

proptest! {
    #[test]
    fn every_touched_page_was_read_once(
        pages in 1_u64..400,
        window in 0_u64..70,
        touches in prop::collection::vec(0_u64..420, 0..300),
    ) {
        let mut disk = Disk::new(pages, window);
        disk.read_start();
        touches.iter().for_each(|page| disk.touch(*page));
        let different: std::collections::BTreeSet<u64> =
            touches.iter().copied().filter(|page| *page < pages).chain([0]).collect();
        let counts = disk.counts();
        prop_assert_eq!(counts.touched_pages, different.len() as u64);
        prop_assert!(different.iter().all(|page| disk.cached.contains(*page)));
        prop_assert_eq!(counts.read_pages, (0..pages).filter(|page| disk.cached.contains(*page)).count() as u64);
        prop_assert!(counts.seeks <= counts.requests && counts.requests <= counts.read_pages);
    }
}
