
resource "terraform_data" "n" { input = 2 }
variable "on" { default = true }
module "m" {
  source = "./m"
  count  = terraform_data.n.output
  keep   = terraform_data.n.input > 1
}
resource "terraform_data" "x" {
  lifecycle {
    enabled         = var.on
    prevent_destroy = terraform_data.n.input == 3
  }
}
