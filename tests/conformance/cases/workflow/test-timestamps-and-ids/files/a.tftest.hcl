run "made" {
  assert {
    condition     = output.t == terraform_data.t.input && length(output.p) == 20
    error_message = output.t
  }
  assert {
    condition     = length(uuid()) == 36 && timecmp(timestamp(), output.t) >= 0
    error_message = "uuid"
  }
}
run "planned" {
  command = plan
  assert {
    condition     = length(timestamp()) == 20
    error_message = "unknown"
  }
}
