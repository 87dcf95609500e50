resource "terraform_data" "a" {}
resource "terraform_data" "undeclared" {
  lifecycle { enabled = var.nope }
}
resource "terraform_data" "unsuitable" {
  lifecycle { enabled = "abc" }
}
resource "terraform_data" "failed" {
  lifecycle { enabled = tobool("x") }
}
module "m" {
  source = "./m"
  lifecycle { enabled = null }
}
