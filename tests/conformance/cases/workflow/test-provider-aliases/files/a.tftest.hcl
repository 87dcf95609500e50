provider "lab" {
  region = "test"
}
provider "lab" {
  alias  = "second"
  region = "second"
}
run "default" {
  assert {
    condition     = lab_thing.a.region == "test" && lab_thing.w.region == "west"
    error_message = "${lab_thing.a.region} ${lab_thing.w.region}"
  }
}
run "chosen" {
  providers = {
    lab      = lab.second
    lab.west = lab
  }
  command = plan
  assert {
    condition     = lab_thing.a.region == "test"
    error_message = lab_thing.a.region
  }
}
run "other" {
  module {
    source = "./other"
  }
  providers = {
    lab = lab.second
  }
  assert {
    condition     = output.region == "second"
    error_message = output.region
  }
}
run "other_default" {
  module {
    source = "./other"
  }
  assert {
    condition     = output.region == "test"
    error_message = output.region
  }
}
run "missing" {
  providers = {
    lab = lab.none
  }
}
