run "real" {
  command = plan
}
