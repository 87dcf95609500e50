resource "terraform_data" "a" {
 for_each = toset(self.x)
}
resource "terraform_data" "b" {
 for_each = { x = count.index }
}
resource "terraform_data" "c" {
 for_each = { x = each.key }
}
resource "terraform_data" "d" {
 for_each = path.nope
}
resource "terraform_data" "e" {
 for_each = toset([terraform.nope])
}
resource "terraform_data" "f" {
 for_each = toset([module.n.x])
}
resource "terraform_data" "g" {
 for_each = toset([var.n])
}
