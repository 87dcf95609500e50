run "x" {
  command = plan
  override_resource {
    target = lab_thing.a
    values = {
      id    = "i"
      ghost = 1
      name  = "n"
    }
  }
}
