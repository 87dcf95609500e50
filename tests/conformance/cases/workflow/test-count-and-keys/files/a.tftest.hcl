run "plan" {
  command = plan
  assert {
    condition     = keys(lab_thing.k) == ["a", "b"] && terraform_data.c[*].input == ["a", "b"] && lab_thing.k["a"].name == "a"
    error_message = "instances"
  }
  assert {
    condition     = module.m[1].n == 10 && module.m[*].n == [0, 10]
    error_message = "modules"
  }
  assert {
    condition     = length([for t in lab_thing.k : t if t.name != null]) == 2
    error_message = "ids"
  }
}
run "apply" {
  variables {
    names = ["b", "c"]
  }
  assert {
    condition     = keys(lab_thing.k) == ["b", "c"] && [for c in terraform_data.c : c.output] == ["b", "c"] && module.m[1].n == 10
    error_message = "instances"
  }
}
run "gone" {
  variables {
    names = []
  }
  assert {
    condition     = lab_thing.k == {} && length(terraform_data.c) == 0
    error_message = "left"
  }
}
