run "goes_on" {
  command = plan
}
