run "a" {}
