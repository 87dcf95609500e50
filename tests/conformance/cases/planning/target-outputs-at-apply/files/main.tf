resource "terraform_data" "a" {
 input = 1
}
resource "terraform_data" "b" {
 input = 2
}
resource "terraform_data" "c" {
 count = 2
 input = count.index
}
resource "terraform_data" "e" {
 for_each = toset(["x"])
 input = each.key
}
output "q" {
 value = [terraform_data.a.input, terraform_data.b.input]
}
output "r" {
 value = "${terraform_data.a.input}-${terraform_data.b.input}"
}
output "s" {
 value = { a = terraform_data.a.input, c = terraform_data.c[*].input, e = terraform_data.e }
}
output "t" {
 value = terraform_data.b.input
 depends_on = [terraform_data.a]
}
