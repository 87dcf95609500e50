//! State backends: their arguments, and the services that keep states and locks as OpenTofu does.

#![forbid(unsafe_code)]
