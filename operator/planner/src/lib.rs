//! What to do next, as a pure function of what was observed and the time.
