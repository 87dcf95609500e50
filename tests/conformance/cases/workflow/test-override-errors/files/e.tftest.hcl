run "x" {
  command = plan
  override_module {
    target = module.m
  }
  override_module {
    target = module.m
  }
}
