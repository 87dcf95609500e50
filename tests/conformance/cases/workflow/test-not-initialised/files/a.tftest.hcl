run "a" {
  command = plan
}
run "b" {}
