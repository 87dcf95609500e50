override_resource {
  target = lab_thing.c
  values = { id = "cid", endpoint = { host = "h", port = 1 } }
}
override_resource {
  target = lab_thing.e
}
run "all" {
  assert {
    condition     = lab_thing.c[1].id == "cid" && lab_thing.c[1].endpoint.host == "h" && lab_thing.e["b"].size == 2
    error_message = "c"
  }
  assert {
    condition     = lab_link.l.from == "cid" && lab_link.l.to == lab_thing.e["a"].id
    error_message = "link"
  }
}
