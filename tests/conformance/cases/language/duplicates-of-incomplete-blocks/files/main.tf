output "a" {
}
output "a" {
 value = 1
}
output "b" {
 value = 1
}
output "b" {
}
module "m" {
}
module "m" {
 source = "./m"
}
module "n" {
 source = "./m"
}
module "n" {
}
