output "dup" {
  value = { for m in local.maps : m.k => m.v }
}
output "nokey" {
  value = { for m in local.maps : null => m.v }
}
output "notiter" {
  value = [for x in 5 : x]
}
output "badif" {
  value = [for x in [1] : x if "maybe"]
}
output "nulliter" {
  value = [for x in local.nul : x]
}
output "keytype" {
  value = { for m in local.maps : [m.k] => m.v }
}
output "splatattr" {
  value = terraform_data.a[*].nothing
}
