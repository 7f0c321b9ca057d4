//! From what was recorded to a trace: pages to files and sections, stops and touches to phases.
