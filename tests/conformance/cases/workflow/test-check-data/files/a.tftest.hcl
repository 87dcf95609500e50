run "found" {}
