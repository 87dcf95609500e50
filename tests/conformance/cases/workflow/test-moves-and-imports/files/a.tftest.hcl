run "made" {
  command = plan
}
