resource "terraform_data" "a" {
 lifecycle {
 precondition {
 condition = var.nope
 error_message = "x${local.y}"
 }
 postcondition {
 condition = self.nope == each.key
 error_message = "z"
 }
 }
}
output "o" {
 value = terraform_data.zz.id
 precondition {
 condition = terraform_data.yy.id == 1
 error_message = "u${terraform_data.a.id}"
 }
}
variable "v" {
 default = 1
 validation {
 condition = var.v == terraform_data.qq.id
 error_message = "n${local.q}"
 }
}
