run "four" {
  command = plan
  variables {
    b = var.none
  }
}
