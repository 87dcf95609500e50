run "b" {
  command = plan
}
