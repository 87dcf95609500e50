terraform {
  required_providers {
    lab = { source = "weft.test/lab/lab" }
  }
}
resource "terraform_data" "z" { input = "q" }
check "q" {
  data "lab_region" "q" {}
  assert {
    condition     = data.lab_region.q.name == "x"
    error_message = "x"
  }
}
resource "terraform_data" "a" { input = data.lab_region.q.name }
resource "terraform_data" "b" { depends_on = [data.lab_region.q] }
output "o" { value = data.lab_region.q }
output "p" {
  value      = 1
  depends_on = [data.lab_region.q]
}
locals { l = data.lab_region.q }
module "n" {
  source     = "./n"
  depends_on = [data.lab_region.q]
}
data "lab_region" "d" { depends_on = [data.lab_region.q] }
check "z" {
  assert {
    condition     = data.lab_region.q.name == "x"
    error_message = "x"
  }
}
resource "terraform_data" "c" {
  lifecycle { replace_triggered_by = [data.lab_region.q] }
}
