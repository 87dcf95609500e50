override_resource {
  target = module.a.lab_thing.t
  values = { id = "t" }
}
run "resources" {
  override_data {
    target = module.a.module.b.data.lab_region.r
    values = { name = "given" }
  }
  assert {
    condition     = output.ids == { x = "t", y = "t" } && output.deep == { x = "given", y = "given" }
    error_message = jsonencode([output.ids, output.deep])
  }
}
run "module" {
  override_module {
    target  = module.a.module.b
    outputs = { name = ["a", 1, null] }
  }
  assert {
    condition     = output.deep["x"][1] == 1 && module.a["y"].deep[2] == null
    error_message = jsonencode(output.deep)
  }
}
