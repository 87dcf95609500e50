resource "terraform_data" "a" { input = 1 }
check "c" {
  assert {
    condition     = terraform_data.a.id != ""
    error_message = "Empty."
  }
}
check "d" {
  assert {
    condition     = terraform_data.a.output != 1
    error_message = "One."
  }
}
