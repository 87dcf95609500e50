run "target" {
  plan_options {
    target = [lab_thing.a]
  }
  assert {
    condition     = lab_thing.a.size == 1
    error_message = "size"
  }
}
run "rest" {}
run "replace" {
  variables {
    size = 2
  }
  plan_options {
    replace = [lab_thing.a]
    refresh = false
  }
  assert {
    condition     = output.a == lab_thing.a.id
    error_message = "id"
  }
}
run "look" {
  variables {
    size = 3
  }
  plan_options {
    mode = refresh-only
  }
  assert {
    condition     = lab_thing.a.size == 2
    error_message = "size ${lab_thing.a.size}"
  }
}
run "data_replaced" {
  command = plan
  plan_options {
    replace = [data.lab_thing.x]
  }
}
