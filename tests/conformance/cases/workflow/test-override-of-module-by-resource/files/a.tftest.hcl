run "bad" {
  override_resource {
    target = module.m
    values = {}
  }
}
