run "x" {
  command = plan
}
