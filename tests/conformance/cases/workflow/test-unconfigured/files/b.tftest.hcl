provider "lab" {}
run "replaced" {}
