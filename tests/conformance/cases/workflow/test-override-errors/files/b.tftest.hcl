run "x" {
  command = plan
  override_resource {
    target = module.none.lab_thing.a
  }
  override_module {
    target = module.nowhere
  }
}
