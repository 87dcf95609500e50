run "c" {
  command = plan
}
