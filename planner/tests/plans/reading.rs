//! Data sources and ephemeral resources: read now, or at apply.

use expect_test::expect;

use crate::harness::{Case, object};

#[tokio::test(flavor = "multi_thread")]
async fn a_known_data_source_is_read_during_planning() {
    let case =
        Case::of("data \"test_look\" \"d\" {\n name = \"x\"\n}\noutput \"o\" {\n value = data.test_look.d.answer\n}\n");
    expect![[r#"
        create output o: null -> "answer to x"
    "#]]
    .assert_eq(&case.shown().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_argument_postpones_the_read() {
    let case = Case::of(
        "resource \"test_thing\" \"a\" {}\ndata \"test_look\" \"d\" {\n name = test_thing.a.id\n}\n\
         output \"o\" {\n value = data.test_look.d.answer\n}\n",
    );
    expect![[r#"
        read data.test_look.d, read_because_config_unknown
          answer: null -> ?
          name: null -> ?
        create test_thing.a
          id: null -> ?
          secret: null -> sensitive null
          size: null -> ?
        create output o: null -> ?
    "#]]
    .assert_eq(&case.shown().await);
}

const DEPENDENT: &str = "resource \"test_thing\" \"a\" {\n name = \"new\"\n}\n\
                         data \"test_look\" \"d\" {\n name = \"x\"\n depends_on = [test_thing.a]\n}\n";

#[tokio::test(flavor = "multi_thread")]
async fn a_pending_dependency_postpones_the_read() {
    expect![[r#"
        read data.test_look.d, read_because_dependency_pending
          answer: null -> ?
          name: null -> "x"
        create test_thing.a
          id: null -> ?
          name: null -> "new"
          secret: null -> sensitive null
          size: null -> ?
    "#]]
    .assert_eq(&Case::of(DEPENDENT).shown().await);
    // If the dependency does not change, the data source is read now.
    let same = object("test_thing.a", r#"{"id": "1", "name": "new"}"#);
    expect![[r#"
        no-op test_thing.a
    "#]]
    .assert_eq(&Case::of(DEPENDENT).stored(same).shown().await);
    // The deletion of a surplus instance counts as a change, too.
    let case = Case::of(
        "resource \"test_thing\" \"a\" {\n count = 0\n}\n\
         data \"test_look\" \"d\" {\n name = \"x\"\n depends_on = [test_thing.a]\n}\n",
    );
    expect![[r#"
        read data.test_look.d, read_because_dependency_pending
          answer: null -> ?
          name: null -> "x"
        delete test_thing.a[0], delete_because_count_index
    "#]]
    .assert_eq(&case.stored(object("test_thing.a[0]", r#"{"id": "1"}"#)).shown().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_data_source_with_conditions_waits_for_all_its_dependencies() {
    let case = |condition: &str| {
        Case::of(&format!(
            "resource \"test_thing\" \"a\" {{\n name = \"new\"\n}}\nlocals {{\n name = test_thing.a.name\n}}\n\
             data \"test_look\" \"d\" {{\n name = local.name\n{condition}}}\n"
        ))
    };
    expect![[r#"
        create test_thing.a
          id: null -> ?
          name: null -> "new"
          secret: null -> sensitive null
          size: null -> ?
    "#]]
    .assert_eq(&case("").shown().await);
    let condition = "lifecycle {\n postcondition {\n condition = self.answer != \"\"\n error_message = \"no\"\n}\n}\n";
    expect![[r#"
        read data.test_look.d, read_because_dependency_pending
          answer: null -> ?
          name: null -> "new"
        create test_thing.a
          id: null -> ?
          name: null -> "new"
          secret: null -> sensitive null
          size: null -> ?
    "#]]
    .assert_eq(&case(condition).shown().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_read_stops_the_plan() {
    expect![[r#"
        error main.tf:2 Refused by the provider (data.test_look.d)
    "#]]
    .assert_eq(&Case::of("data \"test_look\" \"d\" {\n name = \"refused\"\n}\n").shown().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_read_of_a_check_is_a_warning() {
    let case = Case::of(
        "check \"c\" {\n data \"test_look\" \"d\" {\n name = \"refused\"\n}\n\
         assert {\n condition = data.test_look.d.answer == \"\"\n error_message = \"no\"\n}\n}\n",
    );
    expect![[r#"
        warning main.tf:3 Refused by the provider (data.test_look.d)
        read data.test_look.d, read_because_check_nested
          answer: null -> ?
          name: null -> "refused"
    "#]]
    .assert_eq(&case.shown().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_data_source_of_a_check_is_read_last() {
    let main = "check \"c\" {\n data \"test_look\" \"d\" {\n name = \"x\"\n}\n\
                assert {\n condition = data.test_look.d.answer == \"answer to x\"\n error_message = \"no\"\n}\n}\n\
                resource \"test_thing\" \"a\" {}\n";
    expect![[r#"
        read data.test_look.d, read_because_check_nested
          answer: null -> "answer to x"
          name: null -> "x"
        create test_thing.a
          id: null -> ?
          secret: null -> sensitive null
          size: null -> ?
    "#]]
    .assert_eq(&Case::of(main).shown().await);
    expect![[r#"
        0 = record data.test_look.d {"answer": "answer to x", "name": "x"}
        1 = open_provider test {} @test
        2 = desired test_thing.a {"secret": ({sensitive})} @test
        3 = final_plan test_thing.a create provider 1 prior - desired 2 planned {"id": unknown:string, "secret": ({sensitive}), "size": unknown:number} @test
        4 = apply test_thing.a 3 @test
        5 = read_data data.test_look.d for check provider 1 {"name": "x"} after 0 4 @test
        6 = check check.c[0] Assertion if(notequal(%5, null), equal(%5.answer, "answer to x"), true) message "no" after 5
        7 = close_provider 1 after 4 5 @test
    "#]].assert_eq(&Case::of(main).graph().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_ephemeral_value_stays_out_of_the_plan() {
    let main = "ephemeral \"test_token\" \"t\" {\n name = \"x\"\n}\n\
                resource \"test_thing\" \"a\" {\n password = ephemeral.test_token.t.token\n}\n";
    let outcome = Case::of(main).planned().await;
    assert!(!format!("{:?}", outcome.graph).contains("token of x"));
    expect![[r#"
        create test_thing.a
          id: null -> ?
          secret: null -> sensitive null
          size: null -> ?
    "#]]
    .assert_eq(&Case::of(main).shown().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pending_dependency_postpones_the_opening() {
    let case = Case::of(
        "resource \"test_thing\" \"a\" {}\nephemeral \"test_token\" \"t\" {\n name = \"refused\"\n depends_on = [test_thing.a]\n}\n",
    );
    expect![[r#"
        create test_thing.a
          id: null -> ?
          secret: null -> sensitive null
          size: null -> ?
    "#]]
    .assert_eq(&case.shown().await);
    expect![[r#"
        error main.tf:2 Refused by the provider (ephemeral.test_token.t)
    "#]]
    .assert_eq(&Case::of("ephemeral \"test_token\" \"t\" {\n name = \"refused\"\n}\n").shown().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn provider_functions_run_during_planning() {
    let case = Case::of(
        "terraform {\n required_providers {\n test = { source = \"hashicorp/test\" }\n}\n}\n\
         output \"o\" {\n value = provider::test::shout(\"hello\")\n}\n",
    );
    expect![[r#"
        create output o: null -> "HELLO"
    "#]]
    .assert_eq(&case.shown().await);
}
