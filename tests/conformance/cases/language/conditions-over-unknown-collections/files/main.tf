resource "terraform_data" "y" { input = ["x"] }
variable "n" {
  type    = bool
  default = null
}
output "a" { value = [for v in terraform_data.y.output : v if var.n] }
