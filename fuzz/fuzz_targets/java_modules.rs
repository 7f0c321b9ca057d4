//! Any bytes as the modules of a Java run time: refused, or resources inside the file.

#![no_main]

use coldstart_archive::jimage::{resources, used_resources};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let mut image = bytes.to_vec();
    read(&image);
    // Made-up bytes hardly ever begin with the magic and the version.
    for (place, value) in image.iter_mut().zip([0xda, 0xda, 0xfe, 0xca, 0, 0, 1, 0]) {
        *place = value;
    }
    read(&image);
});

fn read(bytes: &[u8]) {
    let Ok(resources) = resources(bytes) else { return };
    assert!(resources.iter().all(|resource| resource.range.end <= bytes.len()));
    assert!(used_resources(&resources, &[vec![0, 1]]).len() <= resources.len());
}
