run "x" {
  command = plan
  override_resource {
    target = data.lab_region.r
  }
  override_data {
    target = lab_thing.a
  }
}
