resource "terraform_data" "edge" {
}
output "plain" {
  value = 1
  precondition {
    condition     = path.module != ""
    error_message = "x"
  }
}
output "res" {
  value = terraform_data.edge.id
  precondition {
    condition     = terraform_data.edge.id != ""
    error_message = "x"
  }
}
output "child" {
  value = 1
  precondition {
    condition     = length([for v in module.c : v.id]) >= 0
    error_message = "x"
  }
}
output "childone" {
  value = 1
  precondition {
    condition     = module.one.id != ""
    error_message = "x"
  }
}
output "dep" {
  value = 1
  depends_on = [terraform_data.edge]
  precondition {
    condition     = path.module != ""
    error_message = "x"
  }
}
variable "v" {
  default = 1
  validation {
    condition     = var.v > 0
    error_message = "x"
  }
}
module "c" {
  for_each = toset(["a"])
  source = "./c"
}
module "one" {
  source = "./c"
}
