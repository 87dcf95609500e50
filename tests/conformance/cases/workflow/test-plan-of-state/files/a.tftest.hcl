run "made" {}
run "update" {
  command = plan
  variables { size = 2 }
  assert {
    condition     = lab_thing.a.size == 2 && output.id == run.made.id
    error_message = "size"
  }
}
run "update_known" {
  command = plan
  variables { size = 2 }
  assert {
    condition     = lab_thing.a.size == 2 && output.size == 2 && startswith(output.id, "lab-")
    error_message = "size"
  }
}
run "replace" {
  command = plan
  variables { name = "b" }
  assert {
    condition     = lab_thing.a.name == "b"
    error_message = "name"
  }
}
run "unchanged" {
  assert {
    condition     = lab_thing.a.size == 1 && lab_thing.a.name == "a" && lab_thing.a.revision == 1
    error_message = "size ${lab_thing.a.size} ${lab_thing.a.revision}"
  }
}
