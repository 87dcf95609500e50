resource "terraform_data" "a" {
}
check "c" {
  assert {
    condition     = terraform_data.a.id != ""
    error_message = "no"
  }
}
