//! One model of a finished run, one format per file.
