run "d" {
  command = plan
}
