run "a" {}
run "b" {}
