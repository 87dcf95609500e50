moved {
  from = terraform_data.z
  to   = terraform_data.a
}
check "c" {
  assert {
    condition     = terraform_data.a.id != ""
    error_message = "no"
  }
}
removed {
  from = terraform_data.q
  lifecycle {
    destroy = true
  }
}
