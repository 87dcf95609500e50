run "real" {}
run "skipped" {}
