variable "on" {
 default = true
}
resource "terraform_data" "a" {
 input = 1
 lifecycle {
 enabled = var.on
 }
}
module "m" {
 source = "./m"
 lifecycle {
 enabled = var.on
 }
}
output "a" {
 value = terraform_data.a == null ? "none" : "one"
}
output "b" {
 value = try(terraform_data.a.input, "t")
}
output "m" {
 value = module.m
}
