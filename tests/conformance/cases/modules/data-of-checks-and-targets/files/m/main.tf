terraform {
  required_providers {
    lab = { source = "weft.test/lab/lab" }
  }
}
check "q" {
  data "lab_region" "q" {}
  assert {
    condition     = data.lab_region.q.name == "x"
    error_message = "x"
  }
}
resource "terraform_data" "in" {}
output "x" { value = terraform_data.in.id }
