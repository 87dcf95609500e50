resource "terraform_data" "a" {
 input = 1
}
resource "terraform_data" "b" {
 input = 2
}
output "q" {
 value = [terraform_data.a.id == null, terraform_data.b.input]
}
output "t" {
 value = terraform_data.b.input
 depends_on = [terraform_data.a]
}
output "u" {
 value = terraform_data.a.input
}
locals {
 l = "x${terraform_data.a.input}"
}
output "w" {
 value = local.l
 depends_on = [terraform_data.b]
}
